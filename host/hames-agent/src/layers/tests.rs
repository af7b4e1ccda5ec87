//! Layers: names, shadowing, exact undo, live walks, refused changes.

use std::sync::Arc;

use hames_log::Place;
use hames_types::fault::Fault;
use smol_str::SmolStr;

use super::{Changes, Layers, OnChange};
use crate::scope::Scope;

fn name(text: &str) -> Option<SmolStr> {
    Some(text.into())
}

fn values(layers: &Layers<u32>, scope: Option<&Scope>) -> Vec<u32> {
    layers
        .snapshot(scope.map(Scope::key))
        .iter()
        .map(|(_, value)| **value)
        .collect()
}

fn find(layers: &Layers<u32>, scope: Option<&Scope>, name: &str) -> Option<u32> {
    layers
        .find(scope.map(Scope::key), name, || true)
        .map(|value| *value)
}

#[test]
fn r_scope_6_a_scope_shadows_the_global_layer_whichever_came_first() {
    let (layers, first, second) = (Layers::new("thing"), Scope::new(), Scope::new());
    layers.insert(Some(&first), name("a"), Arc::new(1)).unwrap();
    layers.insert(None, name("a"), Arc::new(0)).unwrap();
    layers.insert(Some(&second), name("a"), Arc::new(2)).unwrap();

    assert_eq!(find(&layers, Some(&first), "a"), Some(1));
    assert_eq!(find(&layers, Some(&second), "a"), Some(2));
    assert_eq!(find(&layers, None, "a"), Some(0));
    assert_eq!(find(&layers, Some(&Scope::new()), "a"), Some(0));
}

#[test]
fn r_scope_6_a_layer_refuses_a_second_entry_of_a_name_and_says_what_to_do() {
    let (layers, scope) = (Layers::new("thing"), Scope::new());
    for layer in [None, Some(&scope)] {
        layers.insert(layer, name("a"), Arc::new(1)).unwrap();
        let fault = layers.insert(layer, name("a"), Arc::new(2)).unwrap_err();
        assert_eq!(fault.code(), Some("DUPLICATE"));
        assert_eq!(values(&layers, layer), [1]);
    }
    let fault = layers.insert(None, name("a"), Arc::new(2)).unwrap_err();
    assert!(fault.message().contains("in an agent's scope"), "{fault}");
}

#[test]
fn r_scope_6_undo_is_exact_and_can_be_repeated() {
    let layers = Layers::new("thing");
    let first = layers.insert(None, name("a"), Arc::new(1)).unwrap();
    assert!(layers.remove(first));
    layers.insert(None, name("a"), Arc::new(2)).unwrap();

    assert!(
        !layers.remove(first),
        "the later entry of the name isn't this one"
    );
    assert_eq!(values(&layers, None), [2]);
}

#[test]
fn r_scope_6_an_emptied_scope_leaves_nothing_behind() {
    let (layers, scope) = (Layers::new("thing"), Scope::new());
    let id = layers.insert(Some(&scope), None, Arc::new(1)).unwrap();
    assert_eq!(layers.state.read().scoped.len(), 1);
    layers.remove(id);
    assert_eq!(layers.state.read().scoped.len(), 0);
}

#[test]
fn r_scope_9_a_scope_that_has_ended_takes_nothing_more() {
    let (layers, scope) = (Layers::new("thing"), Scope::new());
    layers.insert(Some(&scope), name("a"), Arc::new(1)).unwrap();

    scope.end();
    assert!(layers.end_scope(scope.key()));
    let fault = layers.insert(Some(&scope), name("b"), Arc::new(2)).unwrap_err();

    assert_eq!(fault.code(), Some("SCOPE_ENDED"));
    assert_eq!(values(&layers, Some(&scope)), Vec::<u32>::new());
}

#[test]
fn r_scope_8_a_walk_visits_what_is_added_on_the_way_until_it_has_found_the_end() {
    let layers = Layers::new("thing");
    layers.insert(None, None, Arc::new(1)).unwrap();
    let mut walk = layers.walk(None);

    assert_eq!(walk.next().map(|(_, value)| *value), Some(1));
    layers.insert(None, None, Arc::new(2)).unwrap();
    assert_eq!(walk.next().map(|(_, value)| *value), Some(2));
    assert!(walk.next().is_none());
    layers.insert(None, None, Arc::new(3)).unwrap();
    assert!(walk.next().is_none());
}

struct Refuses;

impl OnChange for Refuses {
    fn changed(&self) -> Result<(), Fault> {
        Err(Fault::foreign("no"))
    }
}

#[test]
fn r_scope_7_a_refused_change_is_taken_back_before_anyone_hears_of_it() {
    let (layers, changes) = (Layers::new("thing"), Changes::default());
    changes.0.add(None, Place::Last, Arc::new(Refuses));
    let id = layers.insert(None, name("a"), Arc::new(1)).unwrap();

    let refusal = changes.announce(|| {
        layers.remove(id);
    });

    assert_eq!(refusal.unwrap_err().message(), "no");
    assert_eq!(values(&layers, None), Vec::<u32>::new());
}
