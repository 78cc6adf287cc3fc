//! Which code runs: compiled for an instruction set, or written for it.

/// Runs code compiled for the instruction set of `kernel`: the portable code again, where the compiler may use wider vectors.
macro_rules! with_vectors {
    ($kernel:expr, $name:path, $name_avx2:path, ($($argument:expr),*)) => {
        match $kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 | Kernel::Avx512 if Kernel::Avx2.available() => {
                // SAFETY: the function only asks for AVX2 and BMI2, which this machine has, as was just seen.
                #[allow(unsafe_code)]
                unsafe { $name_avx2($($argument),*) }
            }
            _ => $name($($argument),*),
        }
    };
}

/// Calls a function written for `kernel`, where it is one of these and this machine has it: `Some` of what it returns.
macro_rules! with_written {
    ($kernel:expr, [$($module:ident $variant:ident),+], $type:ty, $name:ident $arguments:tt) => {{
        #[cfg(target_arch = "x86_64")]
        let result: Option<$type> = match $kernel {
            $(Kernel::$variant if Kernel::$variant.available() => {
                // SAFETY: the functions of the module ask for no more than the features of its kernel, which this machine has, as was just seen.
                #[allow(unsafe_code)]
                Some(unsafe { super::$module::$name $arguments })
            })+
            _ => None,
        };
        #[cfg(not(target_arch = "x86_64"))]
        let result: Option<$type> = None;
        result
    }};
}

pub(super) use {with_vectors, with_written};
