"""How trainer, supervisor, persister and command line talk to each other.

The supervisor listens on one Unix socket (mode 0600).  The first message of a
client says who it is.

From an instrumented process (the trainer):

    hello     protocol, pid, python, argv
    event     event: the record of an `events.Event`, to be journaled
    arena     size_bytes, backing ("memory" or "file"); one descriptor
    snapshot  sequence, step, epoch, reason, durable, size_bytes,
              blocked_seconds, copy_seconds: a snapshot is whole
    vitals    what the flight recorder cannot see from outside, see `flight.told.Told`
    restore   checkpoint: asks for the image of a restore point

To the trainer:

    welcome   protocol, run_dir, attempt, settings, lost_from_step, points;
              one descriptor: the beacon.  `points` are the states to restore,
              in order: finished fits, then the one to continue.
    refused   reason: another process of the run trains already, or the
              protocol differs; the process goes on uninstrumented
    image     checkpoint; one descriptor: a slot (`snapshot.slot`)
    no_image  checkpoint, reason

From the command line, or for `pitstop.request_stop` where nothing trains:

    request   command ("stop", "checkpoint", "status"), and its options
    reply     the answer

Between the supervisor and the persister, over a socket pair:

    trainer   pid                           to the persister: who trains
    arena     size_bytes; one descriptor    to the persister: where snapshots are
    load      checkpoint                    to the persister: verify and load
    image     checkpoint; one descriptor    its answer, or no_image with a reason
    persist   reason                        make the newest snapshot durable
    persisted sequence, step, seconds       its answer; sequence 0: nothing newer
    persist_failed error                    its answer when it could not
    finish    -                             to the persister: no more work
    finished  -                             its answer, before it exits
    event     as above                      from the persister, to be journaled

Between the supervisor and the uploader of a mirror, over another pair:

    say       line                          from the uploader, before the run begins
    opened    -                             the local folder is ready to be used
    refused   message, remedy, by_user      it is not, and why; the uploader ends
    begin     -                             to the uploader: send what is there
    changed   -                             to the uploader: there is a new checkpoint
    finish    -                             to the uploader: send what is left, and end
    abandon   reason                        to the uploader: say what is left, and end
    finished  -                             its answer, before it exits
    event     as above                      from the uploader, to be journaled
"""
