//! Tests that an absurd length in a header or a field does not allocate that much memory.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

mod wire_common;

use hippocrene::{
    BitArray, ClientKey, EncryptedArray, EvaluationKeys, IntegerArray, PublicKey, Settings, Stored,
    TransferKey, wire::inspect,
};
use hippocrene_ring::total_mapped_bytes;
use wire_common::things;

/// Counts the bytes of all allocations, whether they were freed or not.
struct Counting;

static ASKED_FOR: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED_FOR.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the bytes that `f` allocates, including mapped memory.
fn asked_for(f: impl FnOnce()) -> usize {
    let so_far = || ASKED_FOR.load(Ordering::Relaxed) + total_mapped_bytes();
    let before = so_far();
    f();
    so_far() - before
}

fn seal(file: &mut [u8]) {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&file[..12]);
    hasher.update(&file[16..]);
    file[12..16].copy_from_slice(&hasher.finalize().to_le_bytes());
}

#[test]
fn absurd_lengths_allocate_little() {
    let things = things(4);
    let session = things.client.session();
    let counted = asked_for(|| drop(vec![0u8; 1 << 21]));
    assert!(counted >= 1 << 21, "the allocator counts: {counted}");
    for (name, bytes) in things.files() {
        // All numbers of the header and of the fields before the residues, at every possible
        // offset.
        for at in (48..bytes.len().min(320)).step_by(4) {
            for value in [u64::MAX, 1 << 62, 1 << 40, u64::from(u32::MAX), 1 << 17] {
                for sealed in [false, true] {
                    let mut bytes = bytes.clone();
                    let end = bytes.len().min(at + 8);
                    bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
                    if sealed {
                        seal(&mut bytes);
                    }
                    let asked = asked_for(|| {
                        let loaded = match name {
                            "settings" => Settings::from_bytes_insecure(&bytes, ()).is_ok(),
                            "secret" => ClientKey::from_bytes_insecure(&bytes, 1).is_ok(),
                            "public" => PublicKey::from_bytes_insecure(&bytes, 1).is_ok(),
                            "evaluation" | "bootstrapping" | "gates" => {
                                EvaluationKeys::from_bytes_insecure(&bytes, 1).is_ok()
                            }
                            "transfer" => TransferKey::from_bytes_insecure(&bytes, 1).is_ok(),
                            "integers" | "squares" => {
                                IntegerArray::from_bytes(&bytes, session).is_ok()
                            }
                            "bits" | "nots" => BitArray::from_bytes(&bytes, session).is_ok(),
                            _ => EncryptedArray::from_bytes(&bytes, session).is_ok(),
                        };
                        let is_described = inspect(&bytes).is_ok();
                        assert!(is_described || !loaded, "{name} at {at}");
                    });
                    // `inspect` compares with all presets, and those of the largest ring degree
                    // take 2 MiB.
                    assert!(asked < 3 << 20, "{name}: {value:#x} at {at} asks for {asked} bytes");
                }
            }
        }
    }
}
