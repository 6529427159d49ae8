"""Quality, kept in sight: digests beside their sources, checked by rule and read by a person.

``audit`` draws and checks, ``write_report`` makes a file to read and tick, ``take_verdicts`` takes in what was ticked.
"""

from .run import audit, take_verdicts, write_report
from .values import Audit, Drawn, Entry, Judgement, VerdictReport

__all__ = ["Audit", "Drawn", "Entry", "Judgement", "VerdictReport", "audit", "take_verdicts", "write_report"]
