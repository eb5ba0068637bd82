"""``pdual report``: what runs came to, as one HTML page."""
