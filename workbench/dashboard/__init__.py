"""The dashboard: pages over the table and the run folders, in a process without torch."""
