"""What may be wrong with an installation, its models, its machine or a store, and the command that puts it right.

``examine`` yields a ``Check`` for each thing that it looked at. It changes nothing.
"""

from .check import Check
from .run import examine

__all__ = ["Check", "examine"]
