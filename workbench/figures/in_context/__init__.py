"""Models that are given a task in their prompt: answers, the heads that read them, what changing them does."""
