"""Weights of reinforcement learning from a trainer to its rollout workers, as versions in a directory.

    publisher = DeltaPublisher("/shared/run7", anchor_every=50)      # trainer
    publisher.publish(model.state_dict())

    subscriber = DeltaSubscriber("/shared/run7", weights)            # rollout: a dict of buffers, or the path of a safetensors file
    subscriber.update()

A version is a directory `v00000007` that appears whole:

- `manifest.json`: the version, its base, digests of both, and for each tensor where its frame is and the CRC32 before and after;
- `delta-000`, …: frames, each a stream that turns a tensor of the version before into that of this one;
- `anchor-000`, …, in every `anchor_every`-th version: frames that need no version before.

`LATEST` names the newest one. Any storage that shows files will do: a shared file system, or a copy of the directory kept up by rsync or a socket, as long as
`manifest.json` of a version arrives after its frames and `LATEST` last.
"""

from ulpack.sync._publisher import DeltaPublisher
from ulpack.sync._subscriber import DeltaSubscriber

__all__ = ["DeltaPublisher", "DeltaSubscriber"]
