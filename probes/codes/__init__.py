"""In which directions is a summary coded, and are they the same past training?"""
