//! Two futures in one task.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// Drives two futures until both have succeeded, or one has failed: then the other is dropped. For the two directions of
/// a connection, which end together.
///
/// # Errors
/// The first error of either.
pub async fn try_join<A, B, E>(
    a: impl Future<Output = Result<A, E>>,
    b: impl Future<Output = Result<B, E>>,
) -> Result<(A, B), E> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    poll_fn(|context| {
        advance(a.as_mut(), &mut of_a, context)?;
        advance(b.as_mut(), &mut of_b, context)?;
        if of_a.is_none() || of_b.is_none() {
            return Poll::Pending;
        }
        Poll::Ready(Ok(of_a.take().zip(of_b.take())))
    })
    .await
    .map(|both| both.expect("both are there"))
}

/// Polls a future that has not ended yet.
fn advance<T, E>(
    future: Pin<&mut impl Future<Output = Result<T, E>>>,
    outcome: &mut Option<T>,
    context: &mut Context<'_>,
) -> Result<(), E> {
    if outcome.is_none()
        && let Poll::Ready(result) = future.poll(context)
    {
        *outcome = Some(result?);
    }
    Ok(())
}
