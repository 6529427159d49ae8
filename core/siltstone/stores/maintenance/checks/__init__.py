"""What ``verify`` looks at, a part of a store each; nothing on disk is changed."""
