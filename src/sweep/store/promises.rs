//! The promises of every store, as a test.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{Creation, Name, SharedStore, Store, StoreFault};

const TAKERS: usize = 16;
const NAMES: usize = 20;

/// Checks every promise on an empty store, which several clients have opened.
pub(crate) async fn are_kept(clients: &[SharedStore]) {
    let first = &clients[0];
    objects_are_created_once(&**first).await;
    lists_have_one_level(&**first).await;
    names_are_checked(&**first).await;
    several_are_removed_and_a_missing_one_is_no_error(&**first).await;
    sizes_do_not_matter(&**first).await;
    one_of_many_is_acknowledged(clients).await;
    equal_bytes_are_acknowledged(clients).await;
    directories_come_and_go(clients).await;
}

async fn remove(store: &dyn Store, name: &Name) -> Result<(), StoreFault> {
    store.remove(&[name.to_owned()]).await
}

async fn objects_are_created_once(store: &dyn Store) {
    assert_eq!(store.list("").await.unwrap(), [""; 0]);
    assert_eq!(store.get("set").await.unwrap(), None);
    assert_eq!(store.create("set", b"one").await.unwrap(), Creation::Acknowledged);
    assert_eq!(store.create("set", b"two").await.unwrap(), Creation::Taken);
    assert_eq!(store.create("set", b"one").await.unwrap(), Creation::Acknowledged, "a retry of one's own write");
    assert_eq!(store.create("set", b"").await.unwrap(), Creation::Taken);
    assert_eq!(store.create("set", b"one more").await.unwrap(), Creation::Taken);
    assert_eq!(store.get("set").await.unwrap().as_deref(), Some(&b"one"[..]));
    remove(store, "set").await.unwrap();
    remove(store, "set").await.unwrap();
    assert_eq!(store.get("set").await.unwrap(), None);
    assert_eq!(store.create("set", b"two").await.unwrap(), Creation::Acknowledged);
    remove(store, "set").await.unwrap();
    assert_eq!(store.list("").await.unwrap(), [""; 0]);
}

async fn lists_have_one_level(store: &dyn Store) {
    for name in ["a/2", "a/1", "a/b/3", "a/b/c/4", "a.b/5", "ab", "z"] {
        assert_eq!(store.create(name, name.as_bytes()).await.unwrap(), Creation::Acknowledged);
    }
    assert_eq!(store.list("").await.unwrap(), ["a", "a.b", "ab", "z"]);
    assert_eq!(store.list("a").await.unwrap(), ["1", "2", "b"]);
    assert_eq!(store.list("a/b").await.unwrap(), ["3", "c"]);
    assert_eq!(store.list("a/b/c").await.unwrap(), ["4"]);
    assert_eq!(store.list("z").await.unwrap(), [""; 0], "an object is not a prefix");
    assert_eq!(store.list("none").await.unwrap(), [""; 0]);
    assert_eq!(store.get("a").await.unwrap(), None, "a prefix is not an object");
    assert_eq!(store.get("z/1").await.unwrap(), None);
    for name in ["a/2", "a/1", "a/b/3", "a/b/c/4", "a.b/5", "ab", "z"] {
        assert_eq!(store.get(name).await.unwrap().as_deref(), Some(name.as_bytes()));
        remove(store, name).await.unwrap();
    }
    assert_eq!(store.list("").await.unwrap(), [""; 0], "a prefix disappears with its last object");
}

async fn names_are_checked(store: &dyn Store) {
    for bad in ["", "/a", "a/", "a//b", "../a", "a/../../b", "a b", "ä", "~new"] {
        let fault = store.create(bad, b"").await.unwrap_err();
        assert_eq!(fault.to_string(), format!("cannot create `{bad}` in the store {}", store.place()));
        store.get(bad).await.unwrap_err();
        remove(store, bad).await.unwrap_err();
        if !bad.is_empty() {
            store.list(bad).await.unwrap_err();
        }
    }
}

async fn several_are_removed_and_a_missing_one_is_no_error(store: &dyn Store) {
    let names = ["some/1", "some/2", "some/3"].map(str::to_owned);
    for name in [&names[0], &names[2]] {
        assert_eq!(store.create(name, b"").await.unwrap(), Creation::Acknowledged);
    }
    store.remove(&names).await.unwrap();
    assert_eq!(store.list("some").await.unwrap(), [""; 0]);
    store.remove(&[]).await.unwrap();
    let fault = store.remove(&["some/1".to_owned(), "some one".to_owned()]).await.unwrap_err();
    assert_eq!(fault.to_string(), format!("cannot remove `some one` in the store {}", store.place()));
}

async fn sizes_do_not_matter(store: &dyn Store) {
    let large: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    for (name, bytes) in [("sizes/none", &b""[..]), ("sizes/large", &large)] {
        assert_eq!(store.create(name, bytes).await.unwrap(), Creation::Acknowledged);
        assert_eq!(store.get(name).await.unwrap().as_deref(), Some(bytes));
        assert_eq!(store.create(name, b"other").await.unwrap(), Creation::Taken);
        assert_eq!(store.create(name, bytes).await.unwrap(), Creation::Acknowledged);
        remove(store, name).await.unwrap();
    }
}

/// Many clients create each name at once and read it: all read the acknowledged bytes.
async fn one_of_many_is_acknowledged(clients: &[SharedStore]) {
    for round in 0..NAMES {
        let name = format!("race/{round:08}");
        let takers = (0..TAKERS).map(|taker| {
            let (store, name) = (Arc::clone(&clients[taker % clients.len()]), name.clone());
            tokio::spawn(async move {
                let mine = format!("{taker} ").repeat(2_000);
                let seen = store.get(&name).await.unwrap();
                let created = store.create(&name, mine.as_bytes()).await.unwrap();
                let found = store.get(&name).await.unwrap().expect("what was created is found");
                assert!(store.list("race").await.unwrap().contains(&name["race/".len()..].to_owned()));
                assert!(seen.is_none_or(|seen| seen == found), "an object is visible whole or not at all");
                assert_eq!(created == Creation::Acknowledged, found == mine.as_bytes());
                (created, found)
            })
        });
        let ended: Vec<_> = join_all(takers).await.into_iter().map(Result::unwrap).collect();
        let acknowledged = ended.iter().filter(|(created, _)| *created == Creation::Acknowledged).count();
        assert_eq!(acknowledged, 1, "{name}");
        assert!(ended.iter().all(|(_, found)| *found == ended[0].1), "{name}");
    }
    for round in 0..NAMES {
        remove(&*clients[0], &format!("race/{round:08}")).await.unwrap();
    }
}

async fn equal_bytes_are_acknowledged(clients: &[SharedStore]) {
    let takers = (0..TAKERS).map(|taker| {
        let store = Arc::clone(&clients[taker % clients.len()]);
        tokio::spawn(async move { store.create("equal/1", b"the same").await.unwrap() })
    });
    for created in join_all(takers).await {
        assert_eq!(created.unwrap(), Creation::Acknowledged);
    }
    remove(&*clients[0], "equal/1").await.unwrap();
}

/// A prefix that becomes empty does not disturb clients that create objects below it.
async fn directories_come_and_go(clients: &[SharedStore]) {
    let takers = (0..TAKERS).map(|taker| {
        let store = Arc::clone(&clients[taker % clients.len()]);
        tokio::spawn(async move {
            for round in 0..NAMES {
                let name = format!("gone/{}/{taker}-{round}", round % 2);
                assert_eq!(store.create(&name, b"").await.unwrap(), Creation::Acknowledged);
                remove(&*store, &name).await.unwrap();
            }
        })
    });
    for ended in join_all(takers).await {
        ended.unwrap();
    }
    assert_eq!(clients[0].list("gone").await.unwrap(), [""; 0]);
}
