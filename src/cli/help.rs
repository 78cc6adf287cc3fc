//! Prose of the help and the man page.

pub(super) const ABOUT: &str =
    "Lossless streaming compression of checkpoints, with the previous one as reference";

pub(super) const SHORT_END: &str = "\
Compress against the checkpoint before, and back:
  ulp --ref prev.bin < next.bin > d.ulp
  ulp -d --ref prev.bin < d.ulp > next.bin
More: ulp --help";

pub(super) const LONG_END: &str = "\
The input is read once, from its start to its end, and is never changed or removed. Options may come in any order; after '--' \
an argument is a FILE. Several streams one after the other decompress to their contents one after the other. Options that only \
matter for compression are accepted and ignored with -d, -t and -l, as in tar -I 'ulp -9 --ref prev.tar'.

Examples:
  ulp --ref prev.bin < next.bin > d.ulp        compress against the checkpoint before
  ulp -d --ref prev.bin < d.ulp > next.bin     and back
  ulp -t --ref prev.bin d.ulp                  check without writing anything
  ulp next.bin -o d.ulp --ref <(fetch prev)    reference from a pipe
  tar -I 'ulp --ref prev.tar' -xf next.tar.ulp

The summary of -v: content size → stream size, or the other way round; ratio: stream size over content size; speed: content, in \
units of 10^6 bytes per second.

Exit codes:
  0    done
  1    usage or environment: a missing file, a full disk, an existing output
  2    the input is invalid or truncated, or the reference is not the one the stream was made with
  3    the input needs a later version, a missing bank, or more than a limit allows
  101  an error of this program; please report it
  141  the reader of the output closed it
Whatever has been written when it ends with an error is a true prefix of the content, whole chunks only; a file named with -o \
is not made or changed then.

Environment:
  ULP_LEVEL    level where no flag gives one, 1 to 9
  ULP_THREADS  worker threads where -T is not given
A wrong value is reported and ignored.

Files:
  FILE.ulp-XXXX  what -o FILE is called until it is complete; removed after an error and at SIGINT, SIGTERM and SIGHUP

Signals:
  SIGUSR1 prints the progress";
