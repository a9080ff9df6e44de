use super::*;

const GRACE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_long_lived_task_that_ends_early_stops_the_daemon_with_its_name() {
    let tasks = Tasks::default();
    tasks.keep("deliver", async {});
    let error = tasks.supervise(GRACE).await.expect_err("ended early");
    assert_eq!(error.to_string(), "task deliver ended by itself");
}

#[tokio::test]
async fn a_task_can_be_started_while_tasks_are_supervised() {
    let stop = CancellationToken::new();
    let tasks = Tasks::new(stop.clone());
    let (tx, rx) = oneshot::channel();
    let late = tasks.clone();
    tasks.short(async move {
        tokio::task::yield_now().await;
        late.keep("late", async move { tx.send(()).expect("the test waits") });
    });
    let (ended, started) = tokio::join!(tasks.supervise(GRACE), rx);
    started.expect("the late task ran");
    assert_eq!(ended.expect_err("it is supervised, too").to_string(), "task late ended by itself");
}

#[tokio::test]
async fn carried_work_continues_when_the_caller_stops_waiting() {
    let tasks = Tasks::default();
    assert_eq!(tasks.carry(async { 7 }).await, 7);
    let (release, released) = oneshot::channel();
    let (tx, rx) = oneshot::channel();
    let carried = tasks.carry(async move {
        released.await.expect("sent");
        tx.send(()).expect("the receiver waits");
    });
    assert!(tokio::time::timeout(Duration::ZERO, carried).await.is_err(), "it waits for the signal");
    release.send(()).expect("the work waits");
    rx.await.expect("the work ran to its end");
}

#[tokio::test]
async fn stopping_waits_for_short_tasks() {
    let stop = CancellationToken::new();
    let tasks = Tasks::new(stop.clone());
    let (tx, rx) = oneshot::channel();
    let stop_signal = stop.clone();
    tasks.short(async move {
        stop_signal.cancelled().await;
        tx.send(()).expect("the receiver waits");
    });
    stop.cancel();
    tasks.supervise(GRACE).await.expect("in time");
    rx.await.expect("the short task ran to its end");
}

#[tokio::test]
async fn blocking_work_in_the_background_has_the_priority_of_its_task() {
    let tasks = Tasks::default();
    let (sender, receiver) = oneshot::channel();
    let stop = tasks.stop().clone();
    tasks.keep_in_background("test", async move {
        let of_work = blocking(|| getpriority_process(None).expect("a priority")).await;
        let of_task = getpriority_process(None).expect("a priority");
        sender.send((of_task, of_work)).expect("the test waits");
        stop.cancelled().await;
    });
    let normal = getpriority_process(None).expect("a priority");
    let (of_task, of_work) = receiver.await.expect("the task has run");
    assert_eq!((of_task, of_work), ((normal + BACKGROUND_NICENESS).min(19), of_task));
    tasks.stop().cancel();
    tasks.supervise(GRACE).await.expect("in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shutdown_waits_for_blocking_work_of_a_dropped_task() {
    let tasks = Tasks::default();
    let (started, running) = oneshot::channel();
    let (ended, end) = std::sync::mpsc::channel();
    let stop = tasks.stop().clone();
    tasks.keep("remove files", async move {
        let removal = begin(move || {
            let _ = started.send(());
            std::thread::sleep(Duration::from_millis(100));
            ended.send(()).expect("the test waits");
        });
        tokio::select! {
            () = stop.cancelled() => {}
            () = removal => {}
        }
    });
    running.await.expect("started");
    tasks.stop().cancel();
    tasks.supervise(GRACE).await.expect("in time");
    end.try_recv().expect("the work has ended");
}

/// A value whose drop sends the thread on which its work runs.
struct Value(std::sync::mpsc::Sender<std::thread::ThreadId>);

impl Drop for Value {
    fn drop(&mut self) {
        let sender = self.0.clone();
        from_drop(move || sender.send(std::thread::current().id()).expect("the test waits"));
    }
}

#[tokio::test]
async fn the_shutdown_waits_for_work_of_a_dropped_value_which_runs_on_another_thread() {
    let (sender, threads) = std::sync::mpsc::channel();
    let (here, tasks) = (std::thread::current().id(), Tasks::default());
    drop(Value(sender.clone()));
    assert_eq!(threads.try_recv().expect("it has run"), here, "not in a task of a daemon");
    let value = Value(sender);
    tasks.short(async move { drop(value) });
    tasks.stop().cancel();
    tasks.supervise(GRACE).await.expect("in time");
    assert_ne!(threads.try_recv().expect("it has run"), here);
}

#[test]
fn the_work_of_a_value_that_the_end_of_the_runtime_drops_is_done() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("threads");
    let (sender, threads) = std::sync::mpsc::channel();
    let value = Value(sender);
    runtime.block_on(async move {
        let endless = async move {
            let _value = value;
            std::future::pending::<()>().await;
        };
        Tasks::default().short(endless);
    });
    drop(runtime);
    threads.try_recv().expect("it has run");
}
