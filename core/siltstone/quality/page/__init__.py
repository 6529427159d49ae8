"""The report of an audit: one HTML file that needs nothing else, for a person to read and tick."""
