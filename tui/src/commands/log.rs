//! `farrier log`: shows and changes the log filter of the daemon.

use farrier_common::{
    api::{LogFilter, SetLogFilter},
    client::Client,
};

use crate::{
    args::Log,
    exit::Failure,
    output::{Output, fields},
};

pub(super) async fn run(command: Log, client: &Client, output: &Output) -> Result<(), Failure> {
    let filter = match command {
        Log::Show => client.log_filter().await.map_err(Failure::call("requesting the log filter"))?,
        Log::Set { filter } => {
            let request = SetLogFilter { filter: Some(filter) };
            client.set_log_filter(&request).await.map_err(Failure::call("changing the log filter"))?
        }
    };
    output.object(&filter, &filter.filter, || page(&filter))
}

fn page(filter: &LogFilter) -> String {
    fields(&[("filter", filter.filter.clone()), ("configured", filter.configured.clone())])
}
