//! The id of the request in each line that is written while it is answered.

use std::fmt;

use server::request;
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// Lines as another format writes them, which are objects, with the request's id at the end.
pub(super) struct WithRequest<F>(pub(super) F);

impl<S, N, F> FormatEvent<S, N> for WithRequest<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let says_it_itself = event.metadata().fields().field(FIELD).is_some();
        let Some(id) = request::current().filter(|_| !says_it_itself) else {
            return self.0.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        match line.trim_end().strip_suffix('}') {
            Some(open) => writeln!(writer, "{open},\"{FIELD}\":\"{id}\"}}"),
            None => writer.write_str(&line),
        }
    }
}

const FIELD: &str = "request_id";
