"""Where random numbers of a script begin, and the generators that it keeps."""
