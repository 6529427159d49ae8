"""Working, short-term and long-term memory, and the policy that moves things between them."""
