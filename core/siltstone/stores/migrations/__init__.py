"""From an older format of a store to the present one: a file per step, and ``run``, which takes them in order."""
