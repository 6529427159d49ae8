"""What ``verify`` looks at, a part of a store each; all of it only reads."""
