"""A source for claims that tests make up."""

from workbench.claims.papers import own_question

HERE = own_question("here")
