"""Files without a server: frames and findings as one page to attach to an incident."""
