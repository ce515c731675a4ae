//! Memory that two processes map: plain bytes and a few words, every access within its bounds.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// A memfd and its mapping. Its pages cost nothing until they are written.
pub(super) struct Map {
    /// None of memory that nobody shares.
    descriptor: Option<OwnedFd>,
    pointer: NonNull<u8>,
    length: usize,
}

impl Map {
    /// Makes a memfd of zeroes whose length nobody can change any more.
    pub(super) fn create(length: usize) -> io::Result<Self> {
        let descriptor = memfd_create("transom", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&descriptor, length as u64)?;
        fcntl_add_seals(&descriptor, FIXED | SealFlags::SEAL)?;
        Self::open(descriptor)
    }

    /// Maps a memfd. One that could shrink is refused: reading past its end would end this process.
    pub(super) fn open(descriptor: OwnedFd) -> io::Result<Self> {
        if !fcntl_get_seals(&descriptor)?.contains(FIXED) {
            return Err(invalid("the memory's length is not fixed"));
        }
        let length = fstat(&descriptor)?.st_size;
        let length = usize::try_from(length).map_err(|_| invalid("the memory is too long"))?;
        if length == 0 || length % size_of::<u64>() != 0 {
            return Err(invalid("the memory has an odd length"));
        }
        Ok(Self {
            pointer: map(Some(&descriptor), length)?,
            descriptor: Some(descriptor),
            length,
        })
    }

    /// Zeroes that nobody shares.
    pub(super) fn private(length: usize) -> io::Result<Self> {
        Ok(Self {
            pointer: map(None, length)?,
            descriptor: None,
            length,
        })
    }

    pub(super) fn is_shared(&self) -> bool {
        self.descriptor.is_some()
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        let descriptor = self.descriptor.as_ref();
        descriptor
            .expect("only a session that runs is handed over")
            .as_fd()
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The little-endian word at `at`, a multiple of eight.
    pub(super) fn load(&self, at: usize) -> u64 {
        u64::from_le(self.word(at).load(Ordering::Acquire))
    }

    /// Stores a word at `at`, a multiple of eight, after everything that was written before.
    pub(super) fn store(&self, at: usize, value: u64) {
        self.word(at).store(value.to_le(), Ordering::Release);
    }

    /// Copies what is at `at` to the end of `into`.
    #[expect(unsafe_code, reason = "shared memory is reached through a pointer")]
    pub(super) fn append_to(&self, at: usize, length: usize, into: &mut Vec<u8>) {
        self.check(at, length);
        into.reserve(length);
        let filled = into.len();
        // SAFETY: `check` has seen that the source lies in the mapping, which lives as long as `self`; `reserve`
        // made as much room behind `filled`, in memory that is ours alone; every bit pattern is a `u8`.
        unsafe {
            let target = into.as_mut_ptr().add(filled);
            std::ptr::copy_nonoverlapping(self.pointer.as_ptr().add(at), target, length);
            into.set_len(filled + length);
        }
    }

    /// Copies what is at `at` over `into`.
    #[expect(unsafe_code, reason = "shared memory is reached through a pointer")]
    pub(super) fn copy_to(&self, at: usize, into: &mut [u8]) {
        self.check(at, into.len());
        // SAFETY: `check` has seen that the source lies in the mapping, which lives as long as `self`, and `into` is
        // memory of this process alone; every bit pattern is a `u8`.
        unsafe {
            std::ptr::copy_nonoverlapping(self.pointer.as_ptr().add(at), into.as_mut_ptr(), into.len());
        }
    }

    /// Copies `bytes` to `at`.
    #[expect(unsafe_code, reason = "shared memory is reached through a pointer")]
    pub(super) fn copy_from(&mut self, at: usize, bytes: &[u8]) {
        self.check(at, bytes.len());
        // SAFETY: `check` has seen that the target lies in the mapping, which is writable and lives as long as
        // `self`; `bytes` cannot overlap it, as no reference into it is ever made.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.pointer.as_ptr().add(at), bytes.len());
        }
    }

    #[expect(unsafe_code, reason = "shared memory is reached through a pointer")]
    fn word(&self, at: usize) -> &AtomicU64 {
        self.check(at, size_of::<u64>());
        assert!(at.is_multiple_of(align_of::<AtomicU64>()), "words are aligned");
        // SAFETY: `check` has seen that the word lies in the mapping, which lives as long as the borrow of `self`; a
        // mapping begins at a page, so a multiple of eight is aligned; words are at fixed places that no copy of
        // this process touches, and other processes use them as atomics too.
        unsafe { AtomicU64::from_ptr(self.pointer.as_ptr().add(at).cast()) }
    }

    fn check(&self, at: usize, length: usize) {
        let end = at.checked_add(length);
        assert!(
            end.is_some_and(|end| end <= self.length),
            "accesses stay within the mapping"
        );
    }
}

// SAFETY: the mapping belongs to this value alone within this process, and unmapping it from another thread is fine.
#[expect(unsafe_code, reason = "a pointer to memory that is owned")]
unsafe impl Send for Map {}

// SAFETY: through a shared reference bytes are only read and words are atomics; writing bytes needs `&mut self`.
// Another process writes only while this one does not read (the keeper hands a session over as a whole), and what
// it wrote against that rule is bytes of any value, which is what every reader here expects.
#[expect(unsafe_code, reason = "a pointer to memory that is owned")]
unsafe impl Sync for Map {}

impl Drop for Map {
    #[expect(unsafe_code, reason = "a mapping is given back by its address")]
    fn drop(&mut self) {
        // SAFETY: this is the address and the length that `mmap` gave, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.pointer.as_ptr().cast(), self.length) };
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

pub(super) fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[expect(unsafe_code, reason = "mapping memory is asked of the kernel by hand")]
fn map(descriptor: Option<&OwnedFd>, length: usize) -> io::Result<NonNull<u8>> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let anywhere = std::ptr::null_mut();
    let pointer = match descriptor {
        // SAFETY: the kernel chooses an address that nothing else uses.
        Some(descriptor) => unsafe { mmap(anywhere, length, protection, MapFlags::SHARED, descriptor, 0)? },
        // SAFETY: the same.
        None => unsafe { mmap_anonymous(anywhere, length, protection, MapFlags::PRIVATE)? },
    };
    let pointer: NonNull<u8> =
        NonNull::new(pointer.cast()).ok_or_else(|| invalid("the memory was mapped to nowhere"))?;
    // Nobody that this process forks, as the keeper does, has to do with it. Without, it is only less tidy.
    // SAFETY: the range was just mapped; the advice changes what a fork copies, and nothing in this process.
    unsafe { madvise(pointer.as_ptr().cast(), length, Advice::LinuxDontFork) }.ok();
    Ok(pointer)
}

/// A memfd of a fixed length.
const FIXED: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);
