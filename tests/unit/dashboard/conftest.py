"""Fixtures of these tests."""

from tests.support.dashboard.fixtures import answers, cursor, robust, small_root, whole_folders

__all__ = ["answers", "cursor", "robust", "small_root", "whole_folders"]
