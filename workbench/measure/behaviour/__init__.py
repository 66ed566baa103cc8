"""Does it keep working past its training lengths? Accuracies, verdicts, and what they rest on."""
