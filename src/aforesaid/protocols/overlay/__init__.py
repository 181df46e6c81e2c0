"""Broadcasts on partial views: link memory, preventive and PRC-broadcast, and the sampling of views."""
