//! Requests about users and access tokens.

use farrier_common::{
    api::{AccessToken, User},
    client::{Client, ClientError},
};

use super::{Answer, Page, Request, fetch::pages};
use crate::ui::user::{UserCompactor, UserSummary};

/// Status of a caller who is not an administrator.
const FORBIDDEN: u16 = 403;

/// Handles a request about users or tokens. `part` receives the pages before the last one.
pub(super) async fn answer(client: &Client, request: Request, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    Ok(match request {
        Request::Users => {
            let mut compactor = UserCompactor::default();
            let open = |list: Vec<User>| list.into_iter().map(|user| compactor.compact(user)).collect();
            match pages(client.users(None), open, |user: &UserSummary| user.id, part, Answer::Users).await {
                Err(error) if error.status().is_some_and(|status| status.as_u16() == FORBIDDEN) => {
                    let items = vec![UserCompactor::default().compact(client.current_user().await?)];
                    Answer::Users(Page { items, total: Some(1), last: true })
                }
                listed => listed?,
            }
        }
        Request::Tokens(login) => {
            let open = |list: Vec<AccessToken>| list;
            pages(client.tokens(&login), open, |token: &AccessToken| token.id, part, Answer::Tokens).await?
        }
        Request::CreateUser(request) => Answer::User(Box::new(client.create_user(&request).await?)),
        Request::EditUser(login, request) => Answer::User(Box::new(client.edit_user(&login, &request).await?)),
        Request::DeleteUser(login) => {
            client.delete_user(&login, false).await?;
            Answer::Done
        }
        Request::CreateToken(login, request) => Answer::Token(Box::new(client.create_token(&login, &request).await?)),
        Request::DeleteToken { user, id, .. } => {
            client.delete_token(&user, &id.to_string()).await?;
            Answer::Done
        }
        _ => Answer::Done,
    })
}
