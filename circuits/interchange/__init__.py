"""Does what a model has of one prefix serve at another?"""
