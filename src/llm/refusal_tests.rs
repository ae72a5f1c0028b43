//! Every refusal that was met or is documented, and what it means to us.

use super::*;
use reqwest::header::HeaderValue;

fn of(status: u16, body: &str) -> ModelError {
    classify(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body)
}

#[test]
fn too_long_conversations_are_known_by_their_words() {
    let bodies = [
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
        ),
        (
            500,
            r#"{"error":{"message":"Requested tokens (4120) exceed context window of 2048","type":"internal_server_error"}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"You passed 31745 input tokens and requested 1024 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 31744 tokens.","code":400}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens.\"}}","provider_name":"x"}}}"#,
        ),
        (413, "<html>too large</html>"),
        (400, r#"{"error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}"#),
        (
            400,
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)","type":"invalid_request_error"}}"#,
        ),
        (
            400,
            r#"{"error":"Trying to keep the first 4133 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}"#,
        ),
        (400, r#"{"error":{"message":"invalid params, context window exceeds limit (2013)"}}"#),
        (400, r#"{"error":{"message":"Range of input length should be [1, 30000]","code":"invalid_parameter_error"}}"#),
        (400, r#"{"error":"prompt too long; exceeded max context length by 4 tokens"}"#),
    ];
    for (status, body) in bodies {
        assert_eq!(of(status, body), ModelError::ContextFull, "{body}");
    }
}

#[test]
fn a_request_over_a_whole_minutes_tokens_is_too_long_and_a_limit_that_is_used_up_passes() {
    let large = "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 36278. The input or output tokens must be reduced in order to run successfully.";
    let reached = "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.";
    let body = |text: &str| {
        serde_json::json!({ "error": { "message": text, "type": "tokens", "code": "rate_limit_exceeded" } }).to_string()
    };
    assert_eq!(of(429, &body(large)), ModelError::ContextFull);
    assert_eq!(of(429, &body(reached)), ModelError::RateLimited { retry_after_ms: None });
}

#[test]
fn refusals_of_the_key_and_of_money_need_a_person() {
    assert!(matches!(of(401, r#"{"error":"bad key"}"#), ModelError::Unauthorized(t) if t == "HTTP 401, bad key"));
    assert!(matches!(of(403, ""), ModelError::Unauthorized(t) if t == "HTTP 403"));
    let quota = of(429, r#"{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}"#);
    assert!(matches!(quota, ModelError::Unauthorized(t) if t.contains("no credit")));
    let credit = of(
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
    );
    assert!(matches!(credit, ModelError::Unauthorized(t) if t.contains("no credit")));
    let limit = of(
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-01-01 at 00:00 UTC."}}"#,
    );
    assert!(matches!(limit, ModelError::Unauthorized(t) if t.contains("no credit") && t.contains("2026-01-01")));
}

#[test]
fn a_model_that_is_not_there_is_told_from_an_address_that_is_not() {
    for (status, body) in [
        (
            404,
            r#"{"error":{"message":"The model `x` does not exist or you do not have access to it.","code":"model_not_found"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"The requested model 'x' does not exist.","param":"model","code":"model_not_found"}}"#,
        ),
        (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#),
        (404, r#"{"error":"model \"x\" not found, try pulling it first"}"#),
        (404, r#"{"error":{"message":"No endpoints found for x/step-3.5-flash:free.","code":404}}"#),
        (
            404,
            r#"{"error":{"code":"InvalidEndpointOrModel.NotFound","message":"The model or endpoint x does not exist or you do not have access to it."}}"#,
        ),
        (
            404,
            r#"{"error":{"code":404,"message":"models/x is not found for API version v1beta","status":"NOT_FOUND"}}"#,
        ),
        (400, r#"{"error":{"message":"x is not a valid model ID","code":400}}"#),
    ] {
        assert!(matches!(of(status, body), ModelError::NoModel(t) if t.contains('x')), "{body}");
    }
    for body in [
        r#"{"detail":"Not Found"}"#,
        "<html>404 Not Found</html>",
        r#"{"error":{"message":"Invalid URL (POST /v2/models)","type":"invalid_request_error"}}"#,
        r#"{"error":{"message":"This model is only supported in v1/responses and not in v1/chat/completions.","code":null}}"#,
        r#"{"error":{"message":"No endpoints found matching your data policy (Paid model training)","code":404}}"#,
        r#"{"error":{"message":"This is not a chat model and thus not supported in the v1/chat/completions endpoint."}}"#,
    ] {
        assert!(
            matches!(of(404, body), ModelError::BadRequest(t) if t.ends_with("check base_url and the model's name"))
        );
    }
    assert!(matches!(of(403, r#"{"error":{"code":"model_not_found"}}"#), ModelError::Unauthorized(_)));
}

#[test]
fn a_model_without_tools_is_known_by_its_servers_words() {
    for (status, body) in [
        (400, r#"{"error":{"message":"registry.ollama.ai/library/x does not support tools"}}"#),
        (404, r#"{"error":{"message":"No endpoints found that support tool use.","code":404}}"#),
        (
            400,
            r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}"#,
        ),
    ] {
        assert!(matches!(of(status, body), ModelError::NoTools(_)), "{body}");
    }
    let streamed = r#"{"error":{"message":"x does not support tools in a stream"}}"#;
    assert!(matches!(of(400, streamed), ModelError::BadRequest(_)));
}

#[test]
fn what_passes_by_itself_is_turned_away() {
    for status in [408, 429, 500, 502, 503, 504, 529] {
        assert!(of(status, "x").is_turned_away(), "{status}");
    }
    for status in [301, 400, 401, 404, 422] {
        assert!(!of(status, "x").is_turned_away(), "{status}");
    }
}

#[test]
fn unusual_error_bodies_give_a_short_sentence() {
    let html = of(502, "<html><body><h1>Bad\n Gateway</h1></body></html>");
    assert_eq!(html, ModelError::Unavailable("HTTP 502, Bad Gateway".into()));
    let list = of(422, r#"[{"error":{"message":"model is required"}}]"#);
    assert_eq!(list, ModelError::BadRequest("HTTP 422, model is required".into()));
    let detail = of(422, r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#);
    assert!(matches!(detail, ModelError::BadRequest(t) if t.contains("field required")));
    let long = of(400, &"é\u{1b}".repeat(5000));
    assert!(matches!(long, ModelError::BadRequest(t) if t.chars().count() < 420 && !t.contains('\u{1b}')));
}

#[test]
fn retry_after_is_read_in_its_three_forms() {
    let with = |name: &'static str, value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        retry_after(&headers)
    };
    assert_eq!(with("retry-after", "2"), Some(2000));
    assert_eq!(with("retry-after", "0.5"), Some(500));
    assert_eq!(with("retry-after-ms", "1250"), Some(1250));
    assert_eq!(with("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(0));
    assert_eq!(with("retry-after", "soon"), None);
    assert_eq!(with("retry-after", "-5"), None);
}

#[test]
fn a_refusal_inside_a_200_keeps_its_meaning() {
    assert_eq!(status_inside(&serde_json::json!({"code": 429})).as_u16(), 429);
    assert_eq!(status_inside(&serde_json::json!({"type": "overloaded_error"})).as_u16(), 503);
    assert_eq!(status_inside(&serde_json::json!({"code": 0, "message": "?"})).as_u16(), 400);
    assert_eq!(status_inside(&serde_json::json!("text only")).as_u16(), 400);
    let flat = |code: &str| status_inside(&serde_json::json!({"type": "error", "code": code, "message": "?"})).as_u16();
    assert_eq!((flat("rate_limit_exceeded"), flat("server_error"), flat("invalid_api_key")), (429, 503, 401));
    assert_eq!((flat("invalid_prompt"), status_inside(&serde_json::json!({"type": "api_error"})).as_u16()), (400, 503));
}

#[test]
fn google_says_how_long_to_wait_and_which_key_is_wrong_in_the_details() {
    let limited = r#"{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}}"#;
    assert_eq!(of(429, limited), ModelError::RateLimited { retry_after_ms: Some(34_070) });
    let key = r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[
        {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#;
    assert!(matches!(of(400, key), ModelError::Unauthorized(t) if t.contains("API key not valid")));
    assert!(matches!(of(400, &format!("[{key}]")), ModelError::Unauthorized(_)), "a list, without alt=sse");
    let down =
        r#"{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}"#;
    assert!(matches!(of(503, down), ModelError::Unavailable(_)));
    let long = r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#;
    assert_eq!(of(400, long), ModelError::ContextFull);
}
