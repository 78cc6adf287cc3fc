//! Bytes that will be needed soon: hardware foresees nothing across pages, least of all on the walk over tiles, which goes backwards.

use std::ops::Range;

use crate::kernel::encode::Input;

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Asks for these bytes of the elements and of their references to be brought near, as far as they are there. Nothing depends on it.
#[inline]
pub fn prefetch(input: &Input<'_>, bytes: Range<usize>) {
    ask(input.next.get(bytes.clone()).unwrap_or(&[]));
    ask(input.reference.get(bytes).unwrap_or(&[]));
}

#[inline]
fn ask(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of every x86-64; a prefetch reads nothing that the program could see, and the pointer is that of a live slice.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
