"""Moving a user's memory out of a store and into one: export, and the import of whatever a reader reads."""
