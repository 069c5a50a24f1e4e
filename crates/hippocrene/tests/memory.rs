//! Tests of memory use. They run one after the other, because the allocator counts for the whole
//! process.

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    fs,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use common::{assert_close, insecure, insecure_settings, numbers};
use hippocrene::{
    ClientKey, Error, KeyRequest, Preset, Server, Stored, cache_budget, set_cache_budget, stoppable,
};
use hippocrene_ring::total_mapped_bytes;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// While this guard is held, no other test allocates memory.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the result of `f` and the peak memory in bytes while it runs, with all mapped memory.
fn with_most<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let (before, mapped) = (NOW.load(Ordering::Relaxed), total_mapped_bytes());
    MOST.store(before, Ordering::Relaxed);
    (f(), MOST.load(Ordering::Relaxed) - before + total_mapped_bytes() - mapped)
}

/// Keys are written to a file piece by piece, as the same bytes as in memory. A device that is
/// written in order takes them too.
#[test]
fn keys_are_written_in_pieces() {
    let _alone = alone();
    let client = ClientKey::generate(Preset::by_name("n14").unwrap().settings().unwrap()).unwrap();
    let request = KeyRequest { rotations: (1..100).collect(), ..KeyRequest::default() };
    let keys = client.evaluation_keys(&request).unwrap();
    let path = std::env::temp_dir().join(format!("hippocrene-keys-{}", std::process::id()));
    let (saved, taken) = with_most(|| keys.save(&path));
    saved.unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(bytes.len() > 5 << 25, "{} bytes are several pieces", bytes.len());
    assert!(taken < 1 << 27 | 1 << 20, "{taken} bytes for {}", bytes.len());
    assert!(bytes == keys.to_bytes());
    #[cfg(unix)]
    keys.save("/dev/null").unwrap();
}

/// An array whose axes of length 2 have reverse order needs thousands of diagonals, one for each
/// distance.
///
/// A sender can choose such an array, so the move must not need more memory than its elements.
#[test]
fn moves_need_the_memory_of_their_elements() {
    let _alone = alone();
    let x = numbers(256, 1);
    let (client, server) = insecure(9, 2);
    let array = server.transpose(&client.encrypt(&x, &[2; 8]).unwrap()).unwrap();
    let packed = server.gather(&[&array], &[256], &(0..256).collect::<Vec<_>>()).unwrap();
    let expected: Vec<f64> = (0..=255u8).map(|i| x[usize::from(i.reverse_bits())]).collect();
    assert_close(&client.decrypt(&packed).unwrap(), &expected, "in another order");

    // No capacity for a product is left.
    let slots = 1 << 12;
    let (client, server) = insecure(13, 0);
    let array = server.transpose(&client.encrypt(&numbers(slots, 1), &[2; 12]).unwrap()).unwrap();
    let places: Vec<usize> = (0..slots).collect();
    let (error, taken) = with_most(|| server.gather(&[&array], &[slots], &places).unwrap_err());
    assert!(matches!(error, Error::Capacity { .. }), "{error}");
    assert!(taken < 1 << 24, "{taken} bytes");

    // The entries of a matrix are collected before the lack of capacity is found. The collection
    // can be stopped.
    let (columns, x) = (256, client.encrypt(&numbers(slots, 1), &[slots]).unwrap());
    let w = numbers(slots * columns, 2);
    let product = || {
        // A stop is checked every 50 milliseconds, so at once after this pause.
        std::thread::sleep(std::time::Duration::from_millis(100));
        server.matmul_plain(&x, &w, columns)
    };
    let error = stoppable(|| true, product).unwrap_err();
    assert!(matches!(error, Error::Stopped(_)), "{error}");
}

/// The caches of all servers stay within the budget of the process, whatever their threads do at
/// the same time.
#[test]
fn servers_share_one_budget() {
    let _alone = alone();
    let client = ClientKey::generate_with(insecure_settings(7, 5), 1).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::default()).unwrap();
    let (x, m) = (client.encrypt(&numbers(12, 1), &[12]).unwrap(), numbers(60, 2));
    let product = |server: &Server| server.rmatmul_plain(&m, 5, &x).unwrap().to_bytes();
    let servers: Vec<Server> = (0..4).map(|_| Server::with_threads(&keys, 1).unwrap()).collect();
    let cached =
        || servers.iter().map(|s| s.memory().derived_keys + s.memory().caches).sum::<usize>();

    let default = cache_budget();
    assert_eq!(default, (0, 2 << 30));
    let result = product(&servers[0]);
    assert!((0..2).all(|_| product(&servers[0]) == result));
    let one = cache_budget().0;
    assert!(one > 0 && one == cached());

    let limit = 2 * one;
    set_cache_budget(limit);
    std::thread::scope(|scope| {
        for server in &servers {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert!(product(server) == result);
                    assert!(cache_budget().0 <= limit);
                }
            });
        }
    });
    assert_eq!(cache_budget(), (cached(), limit));
    // The caches of idle servers are dropped for those of the working server.
    let last = &servers[3];
    assert!((0..3).all(|_| product(last) == result));
    assert!(last.memory().caches > 0);
    // The expanded ciphertexts of an array are freed with the array.
    set_cache_budget(0);
    assert!(cached() > 0 && cached() < one);
    drop(x);
    assert_eq!(cached(), 0);
    set_cache_budget(default.1);
    drop(servers);
    assert_eq!(cache_budget(), default);
}
