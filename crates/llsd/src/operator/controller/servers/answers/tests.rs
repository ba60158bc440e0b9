//! What is news, and how often somebody is asked.

use llsd_plan::status::Answers;

use super::*;

fn healthy(version: &str) -> ServerAnswer {
    let version = Some(version.to_owned());
    ServerAnswer::Answered(Answers { health: Ok(()), version, providers: None })
}

fn unreachable(why: &str) -> ServerAnswer {
    ServerAnswer::Unreachable(why.to_owned())
}

fn target(ready: i32) -> Target {
    Target::new("http://llama", None, &DeploymentState { ready, ..DeploymentState::default() })
}

struct Scene(Servers, Key);

impl Scene {
    fn new() -> Self {
        Self(Servers::new(Duration::from_mins(1)), Key::new("ns", "llama"))
    }

    /// Whether this answer is news.
    async fn answers(&self, answer: ServerAnswer) -> bool {
        let key = self.0.next().await;
        self.0.ask(&key, async |_| answer).await
    }

    fn last(&self, target: Target) -> ServerAnswer {
        self.0.last_answer(&self.1, target).server
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_news_once_and_stands_until_the_pods_change() {
    let scene = Scene::new();
    assert_eq!(scene.last(target(1)), ServerAnswer::Awaited);
    assert!(scene.answers(healthy("1")).await);
    assert_eq!(scene.last(target(1)), healthy("1"));
    assert!(!scene.answers(healthy("1")).await);
    assert!(scene.answers(healthy("2")).await);
    assert_eq!(scene.last(target(2)), ServerAnswer::Awaited, "others may be of another release");
    assert!(scene.answers(healthy("2")).await);
    scene.0.forget(&scene.1);
    assert!(!scene.answers(healthy("3")).await);
    assert!(scene.0.lock().servers.is_empty());
}

#[tokio::test(start_paused = true)]
async fn trouble_is_news_by_its_kind_and_asked_about_less_and_less_often() {
    let scene = Scene::new();
    scene.last(target(1));
    assert!(scene.answers(unreachable("no name")).await);
    let begun = Instant::now();
    for why in ["no time", "no name", "no route"].repeat(4) {
        assert!(!scene.answers(unreachable(why)).await);
    }
    assert_eq!(scene.last(target(1)), unreachable("no name"), "the first words stand");
    let taken = begun.elapsed();
    assert!(taken > Duration::from_mins(5), "twelve questions took {taken:?}");
    assert!(scene.answers(ServerAnswer::Untrusted("another".into())).await);
    assert!(scene.answers(healthy("1")).await);
    // One that answered may miss a question.
    assert!(!scene.answers(unreachable("no time")).await);
    assert!(!scene.answers(healthy("1")).await);
    assert!(!scene.answers(unreachable("no time")).await);
    assert!(scene.answers(unreachable("no time")).await);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_not_reached_is_asked_at_once_when_its_resource_changes() {
    let scene = Scene::new();
    scene.last(target(1));
    for _ in 0..12 {
        scene.answers(unreachable("no name")).await;
    }
    let begun = Instant::now();
    scene.0.ask_after_change(&scene.1);
    assert!(scene.answers(healthy("1")).await);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    scene.0.ask_after_change(&scene.1);
    scene.answers(healthy("1")).await;
    assert!(begun.elapsed() > Duration::from_secs(50), "one that answers is not asked more often");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_servers_that_say_the_same_keep_one_answer() {
    let scene = Scene::new();
    for number in 0..1000 {
        let key = Key::new("ns", &number.to_string());
        scene.0.last_answer(&key, target(1));
        assert!(scene.answers(healthy("1")).await);
    }
    assert_eq!(scene.0.lock().answers.len(), 1);
}
