//! The bytes of pictures.

use super::*;
use domain::*;

pub async fn a_picture_is_kept_once_for_its_task_and_goes_with_it(fresh: Fresh) {
    let store = fresh.open().await;
    let (one, two) = (created(&store, "opened:3").await.id, created(&store, "opened:4").await.id);
    let body = vec![0, 159, 146, 150];
    assert!(store.keep_file(one, "d1", body.clone()).await.expect("kept"));
    assert!(store.keep_file(one, "d1", body.clone()).await.expect("kept again"));
    assert_eq!(store.kept_file(one, "d1").await.expect("read"), Some(body.clone()));
    assert_eq!(store.kept_file(two, "d1").await.expect("read"), None, "another task's");
    assert!(store.keep_file(two, "d1", body.clone()).await.expect("kept"));
    let task = store.task(one).await.expect("folded");
    feed_at(20, &store, &task, "issue-closed", Input::IssueClosed).await;
    store.delete_task(one).await.expect("deleted");
    assert_eq!(store.kept_file(one, "d1").await.expect("read"), None);
    assert_eq!(store.kept_file(two, "d1").await.expect("read"), Some(body));
}

pub async fn pictures_of_a_task_have_a_bound(fresh: Fresh) {
    let store = fresh.open().await;
    let id = created(&store, "opened:3").await.id;
    let large = usize::try_from(MOST_OF_A_TASK).expect("small") - 10;
    assert!(store.keep_file(id, "large", vec![1; large]).await.expect("kept"));
    assert!(!store.keep_file(id, "small", vec![1; 11]).await.expect("asked"));
    assert_eq!(store.kept_file(id, "small").await.expect("read"), None);
    assert!(store.keep_file(id, "large", vec![1; large]).await.expect("the same again"));
    assert!(store.keep_file(id, "small", vec![1; 10]).await.expect("kept"));
}

pub async fn files_of_finished_work_make_room_for_newer_ones_and_pictures_stay(fresh: Fresh) {
    let store = fresh.open().await;
    let (one, two) = (created(&store, "opened:3").await.id, created(&store, "opened:4").await.id);
    let large = usize::try_from(MOST_OF_A_TASK).expect("small") - 10;
    for task in [one, two] {
        assert!(store.keep_file(task, "d1", vec![2; 10]).await.expect("kept"));
        assert!(store.keep_artifact(task, "d1", vec![1; large]).await.expect("kept"));
    }
    assert!(!store.keep_artifact(one, "d2", vec![1; 11]).await.expect("asked"), "it is full");
    store.forget_artifacts(one).await.expect("forgotten");
    assert!(store.keep_artifact(one, "d2", vec![1; 11]).await.expect("kept"));
    assert_eq!(store.kept_artifact(one, "d1").await.expect("read"), None);
    assert_eq!(store.kept_file(one, "d1").await.expect("read"), Some(vec![2; 10]), "a picture with the same digest");
    assert_eq!(store.kept_artifact(two, "d1").await.expect("read"), Some(vec![1; large]), "another task's");
}
