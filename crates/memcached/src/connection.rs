//! One connection.
use std::sync::Arc;
use crate::service::Service;
pub(crate) async fn serve(_service: Arc<Service>, _stream: io::Stream) {
    unimplemented!()
}
