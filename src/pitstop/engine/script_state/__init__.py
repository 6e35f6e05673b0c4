"""Python state of a script that its training reads or writes: found, saved, refilled in place.

`walk` follows what the training calls to everything of the script's that holds content:
lists, dictionaries, arrays, objects of its classes, closures, globals that its code names.
Each is a node with a name; a reference to one is a `Ref`, so that an object in two places
stays one object.  `state` compares the nodes with those at the begin of the training:
what differs is saved, and refilled in place on a resume.  What JSON and arrays cannot
carry has a fingerprint at most (`opaque`): when that changes, the resume is not exact.
"""
