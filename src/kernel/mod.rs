//! Kernels: the hot loops, once for every instruction set, each beside its scalar twin.
//!
//! This is the only place with `unsafe` code. Every kernel computes exactly what the scalar code computes, so bytes never depend on the machine.

#![allow(unsafe_code)]

pub mod decode;
pub mod encode;

use std::sync::OnceLock;

/// An instruction set for which there are kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Portable code.
    Scalar,
    /// x86-64 with AVX2, BMI1, BMI2, LZCNT and POPCNT.
    Avx2,
    /// x86-64 with AVX2's and AVX-512 F, BW, CD, DQ, VL, VBMI and VBMI2.
    Avx512,
    /// 64-bit Arm.
    Neon,
}

impl Kernel {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Avx2, Self::Avx512, Self::Neon];

    /// The name, as in `ULP_KERNEL`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// Whether this machine can run it.
    #[must_use]
    pub fn available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("lzcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512cd")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => true,
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    /// The best one this machine can run.
    #[must_use]
    pub fn best() -> Self {
        [Self::Avx512, Self::Avx2, Self::Neon].into_iter().find(|k| k.available()).unwrap_or(Self::Scalar)
    }

    /// The one in use: `ULP_KERNEL` where it names an available one, else the best. Chosen once.
    #[must_use]
    pub fn active() -> Self {
        static ACTIVE: OnceLock<Kernel> = OnceLock::new();
        *ACTIVE.get_or_init(|| {
            let named = std::env::var("ULP_KERNEL").ok();
            let named = named.and_then(|name| Self::ALL.into_iter().find(|k| k.name() == name));
            named.filter(|k| k.available()).unwrap_or_else(Self::best)
        })
    }
}
