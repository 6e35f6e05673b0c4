"""See left_out.py."""

from left_out import leave_out  # type: ignore[import-not-found]

leave_out(__name__)
