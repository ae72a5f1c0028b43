//! Events that a conversation does not tell the model.

use domain::Event;

/// Lists every event by name, so that a new one does not compile until somebody decided whether the model is told of it.
pub(super) fn omitted(event: &Event) {
    match event {
        // Between people and the host.
        Event::ModelChosen(_) | Event::ReplyStarted { .. } | Event::Replied(_) => {}
        // The model need not know, or learns it from another event.
        Event::SlotGranted
        | Event::Looked { .. }
        | Event::Compacted { .. }
        | Event::SummaryStarted { .. }
        | Event::Summarised { .. }
        | Event::SlotAwaited
        | Event::ModelCallUncharged { .. }
        | Event::PicturesRefused { .. }
        | Event::PublishStarted { .. }
        | Event::Pushed { .. }
        | Event::PullOpened { .. }
        | Event::VerifyStarted { .. }
        | Event::CiAwaited(_)
        | Event::UpstreamCiEnded(_)
        | Event::VerdictReturned { .. }
        | Event::CheckpointPosted { .. }
        | Event::Answered { .. }
        | Event::CheckpointVoided { .. }
        | Event::DecisionHeld { .. }
        | Event::DecisionRefused { .. }
        | Event::AdvanceEnded { .. }
        | Event::PermissionAsked { .. }
        | Event::PermissionGiven { .. }
        | Event::PermissionRefused { .. }
        | Event::QuestionPosted(_)
        | Event::SecondLookStarted { .. }
        | Event::SecondLooked { .. }
        | Event::HostDenied { .. }
        // Told by the call's result; a withdrawn remark is not asked for.
        | Event::RemarkAnswered(_)
        | Event::RemarkWithdrawn(_)
        | Event::Merge(_)
        | Event::Artifacts(_)
        | Event::WorkKeeping
        | Event::WorkNotKept { .. }
        | Event::RouterReplaced
        | Event::BudgetGranted { .. }
        | Event::Paused { .. }
        | Event::Ended { .. } => {}
        // Handled by the caller.
        Event::Requested { .. }
        | Event::Prepared { .. }
        | Event::Rebased(_)
        | Event::TreeUnchanged { .. }
        | Event::TurnCompleted { .. }
        | Event::Recalled { .. }
        | Event::Asked { .. }
        | Event::QuestionAnswered { .. }
        | Event::CallAnswered { .. }
        | Event::ActionStarted { .. }
        | Event::ActionFinished { .. }
        | Event::DoneSaid { .. }
        | Event::Nudged { .. }
        | Event::DoneReturned { .. }
        | Event::TreeCaptured { .. }
        | Event::WorkKept { .. }
        | Event::PlanUpdated { .. }
        | Event::AnotherWay { .. }
        | Event::ConversationRestarted
        | Event::TreeRefused { .. }
        | Event::Verified { .. }
        | Event::CiEnded(_)
        | Event::DecisionUsed { .. }
        | Event::FeedbackGiven { .. }
        | Event::WidenedToFix { .. }
        | Event::Resumed
        | Event::SandboxLost { .. }
        | Event::SandboxSuspended { .. }
        | Event::ModelCallStarted { .. }
        | Event::HostAllowed { .. } => {}
    }
}
