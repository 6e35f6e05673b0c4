"""The processes of a run: started, watched, ended, collected."""
