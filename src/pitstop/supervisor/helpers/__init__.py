"""The persister and the uploader: started, asked, replaced."""
