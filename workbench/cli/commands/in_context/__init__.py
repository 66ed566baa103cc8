"""Commands about models that are given a task in their prompt."""
