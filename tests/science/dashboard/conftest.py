"""Fixtures of these tests."""

from tests.support.dashboard.fixtures import answers, robust, small_root, whole_folders

__all__ = ["answers", "robust", "small_root", "whole_folders"]
