//! Registries on loopback that answer when the test wants it.

use llsd_settings::TextsInUse;
use tokio::net::TcpListener;

use super::super::pull_credentials::PullCredentials;
use super::*;
use crate::operator::controller::state::CurrentConfiguration;
use crate::operator::telemetry::Metrics;

const PATIENCE: Duration = Duration::from_millis(50);

struct Scene {
    lookups: Arc<Lookups>,
    queue: Arc<Queue>,
    asker: Asker,
    registry: TcpListener,
}

impl Scene {
    async fn new() -> Self {
        let registry = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = registry.local_addr().unwrap();
        let allowed = format!("insecureHosts: ['{host}']\nprivateHosts: ['{host}']");
        let configuration = CurrentConfiguration::default();
        let data = [("registries".to_owned(), allowed)].into();
        configuration.set_texts(TextsInUse::default().check(&data).in_use);
        let queue = Arc::new(Queue::default());
        let asker = Asker {
            configuration: configuration.get(),
            credentials: Arc::new(PullCredentials::default()),
            secrets: Arc::default(),
            wanted: Wanted::Base,
            metrics: Metrics::new("0"),
        };
        let lookups = Arc::new(Lookups::new(PATIENCE, Arc::clone(&queue)));
        Self { lookups, queue, asker, registry }
    }

    fn image(&self, tag: usize) -> Reference {
        format!("{}/a/b:{tag}", self.registry.local_addr().unwrap()).parse().unwrap()
    }

    async fn ask(&self, key: &Key, tag: usize) -> Answer {
        self.lookups.ask(key, &self.asker, &self.image(tag), Duration::ZERO).await
    }

    /// Lets the registry hang up.
    async fn fail(&self) {
        drop(self.registry.accept().await.unwrap());
    }
}

#[tokio::test]
async fn a_late_answer_wakes_whoever_asked_and_is_there_until_it_was_used() {
    let (scene, key) = (Scene::new().await, Key::new("ns", "llama"));
    for _ in 0..2 {
        assert!(matches!(scene.ask(&key, 1).await, Answer::Awaited(_)));
    }
    scene.fail().await;
    assert_eq!(scene.queue.next().await, key);
    for _ in 0..2 {
        assert!(matches!(scene.ask(&key, 1).await, Answer::Known(Err(_))));
    }
    scene.lookups.settle(&key);
    assert!(scene.lookups.lock().is_empty(), "a resource at rest costs nothing");
}

#[tokio::test]
async fn of_a_slow_namespace_few_are_waited_for_and_what_is_no_longer_wanted_is_not_asked() {
    let scene = Scene::new().await;
    let key = |number: usize| Key::new("slow", &number.to_string());
    let begun = Instant::now();
    for number in 0..100 {
        assert!(matches!(scene.ask(&key(number), number).await, Answer::Awaited(_)));
    }
    let waited = begun.elapsed();
    assert!(waited < PATIENCE * 50, "workers waited for {waited:?}");
    for number in 0..100 {
        scene.lookups.only(&key(number), &[]);
    }
    assert!(scene.lookups.lock().is_empty());
    // Those under way end, and the rest finds that nobody asks any more.
    while !scene.lookups.asking.lock().unwrap().is_empty() {
        let _ = timeout(PATIENCE, scene.fail()).await;
        while scene.lookups.asking.lock().unwrap().try_join_next().is_some() {}
    }
}
