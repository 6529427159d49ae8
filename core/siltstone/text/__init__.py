"""Pure functions over text: tokens, dates, guards, keys. No files, no clock."""
