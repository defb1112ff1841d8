//! The parts of the sandbox that depend on the operating system.

#[cfg(not(unix))]
pub(super) use other::{Identity, is_on, is_same, kernel_devices, reading};
#[cfg(unix)]
pub(super) use unix::{Identity, is_on, is_same, kernel_devices, reading};

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use cap_std::fs::{Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
    use rustix::fs::OFlags;

    /// The identity of a file: device and inode number.
    #[derive(Debug, Clone, Copy)]
    pub(in crate::tools) struct Identity(u64, u64);

    impl Identity {
        /// Follows links; `None` if the file does not exist.
        pub(in crate::tools) fn of(path: &Path) -> Option<Self> {
            std::fs::metadata(path).ok().map(|metadata| Self(metadata.dev(), metadata.ino()))
        }

        pub(in crate::tools) fn is_of(&self, metadata: &Metadata, _: &Path) -> bool {
            (self.0, self.1) == (metadata.dev(), metadata.ino())
        }
    }

    pub(in crate::tools) fn reading() -> OpenOptions {
        let mut options = OpenOptions::new();
        // Opening must not block if the file was replaced by a FIFO.
        options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        options
    }

    pub(in crate::tools) fn is_same(one: &Metadata, other: &Metadata) -> bool {
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }

    pub(in crate::tools) fn is_on(metadata: &Metadata, devices: &[u64]) -> bool {
        devices.contains(&metadata.dev())
    }

    /// The devices of `/proc` and `/sys`, unless they are part of the ordinary file system.
    pub(in crate::tools) fn kernel_devices() -> Vec<u64> {
        let device = |path: &str| std::fs::metadata(path).ok().map(|metadata| metadata.dev());
        let ordinary = device("/");
        ["/proc", "/sys"].into_iter().filter_map(device).filter(|device| Some(*device) != ordinary).collect()
    }
}

/// For systems without device and inode numbers, and without FIFOs and kernel files in directories.
#[cfg(not(unix))]
mod other {
    use std::path::{Path, PathBuf};

    use cap_std::fs::{Metadata, OpenOptions};

    /// The identity of a file: its path with links resolved.
    #[derive(Debug, Clone)]
    pub(in crate::tools) struct Identity(PathBuf);

    impl Identity {
        pub(in crate::tools) fn of(path: &Path) -> Option<Self> {
            path.canonicalize().ok().map(Self)
        }

        pub(in crate::tools) fn is_of(&self, _: &Metadata, path: &Path) -> bool {
            path.canonicalize().is_ok_and(|path| path == self.0)
        }
    }

    pub(in crate::tools) fn reading() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true);
        options
    }

    pub(in crate::tools) fn is_same(one: &Metadata, other: &Metadata) -> bool {
        one.is_dir() == other.is_dir() && one.len() == other.len() && one.created().ok() == other.created().ok()
    }

    pub(in crate::tools) fn is_on(_: &Metadata, _: &[u64]) -> bool {
        false
    }

    pub(in crate::tools) fn kernel_devices() -> Vec<u64> {
        Vec::new()
    }
}
