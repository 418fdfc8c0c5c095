package api

import (
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/control"
	"cmux/agents/control/cards"
	"cmux/agents/control/crew"
	"cmux/agents/control/files"
	"cmux/agents/control/merging"
	"cmux/agents/control/overview"
	"cmux/agents/control/rooms"
	"cmux/agents/control/runs"
	"cmux/agents/control/tasks"
	"cmux/agents/org/card"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/org/upkeep"
	"cmux/agents/records/event"
	"cmux/agents/records/incident"
	"cmux/agents/records/note"
	"cmux/agents/room"
	"cmux/agents/room/marks"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
	"cmux/worktree"
)

// words returns values for the document.
func words[T ~string](all ...T) []any {
	out := make([]any, len(all))
	for i, w := range all {
		out[i] = string(w)
	}
	return out
}

// enums are the types with a fixed set of values, with all of their constants; a test
// checks that they are complete.
func enums() map[reflect.Type][]any {
	return map[reflect.Type][]any{
		reflect.TypeFor[dag.NodeState](): words(dag.NodeWaiting, dag.NodeBlocked, dag.NodeReady, dag.NodeRunning, dag.NodeChecking, dag.NodeTakenOver,
			dag.NodeNeedsInput, dag.NodeLimited, dag.NodeLost, dag.NodeDone, dag.NodeFailed, dag.NodeSkipped),
		reflect.TypeFor[dag.Reason](): words(dag.ReasonExit, dag.ReasonTimeout, dag.ReasonChecks, dag.ReasonScope, dag.ReasonConflict, dag.ReasonSetup,
			dag.ReasonBudget, dag.ReasonIdle, dag.ReasonLost, dag.ReasonOnComplete, dag.ReasonReported, dag.ReasonNoReport, dag.ReasonBadMarker,
			dag.ReasonByHand, dag.ReasonOverride, dag.ReasonCancelled, dag.ReasonFailed, dag.ReasonBlocked, dag.ReasonStopped),
		reflect.TypeFor[dag.RunState]():  words(dag.RunRunning, dag.RunWaiting, dag.RunLimited, dag.RunStopped, dag.RunNoRunner, dag.RunDone, dag.RunFailed),
		reflect.TypeFor[dag.Role]():      words(dag.RoleBuild, dag.RoleReview, dag.RoleMerge, dag.RoleGate),
		reflect.TypeFor[dag.Join]():      words(dag.AllSuccess, dag.AllDone, dag.OneSuccess, dag.Always),
		reflect.TypeFor[dag.Outcome]():   words(dag.NoOutcome.String(), dag.Done.String(), dag.Override.String(), dag.Failed.String(), dag.Cancelled.String()),
		reflect.TypeFor[task.State]():    words(task.States()...),
		reflect.TypeFor[task.Priority](): words(task.Priorities()...),
		reflect.TypeFor[task.Column]():   words(task.Columns()...),
		reflect.TypeFor[task.Phase]():    words(task.Phases()...),
		reflect.TypeFor[card.Do]():       words(card.Dos()...),
		reflect.TypeFor[card.Asked]():    words(card.AsksWhy, card.AsksSure),
		reflect.TypeFor[task.Kind]():     words(task.Kinds()...),
		reflect.TypeFor[task.Op]():       words(task.OpAdd, task.OpEdit, task.OpMove, task.OpVerdict, task.OpOverride, task.OpMerge, task.OpCard),
		reflect.TypeFor[run.Verdict]():   words(run.VerdictApproved, run.VerdictDropped, run.VerdictSentBack),
		reflect.TypeFor[runs.ReviewState](): words(runs.ReviewOpen, runs.ReviewApproved, runs.ReviewMoved, runs.ReviewDropped,
			runs.ReviewSentBack, runs.ReviewMerged, runs.ReviewNothing),
		reflect.TypeFor[standing.Word](): words(standing.Starting, standing.Idle, standing.Working, standing.Checking, standing.NeedsInput,
			standing.TakenOver, standing.Limited, standing.Down, standing.Stopped, standing.Going),
		reflect.TypeFor[mailbox.State](): words(mailbox.Queued, mailbox.Handed, mailbox.Confirmed, mailbox.Failed, mailbox.Expired),
		// A message without urgency has the empty text.
		reflect.TypeFor[mailbox.Urgency](): words(mailbox.Patient, mailbox.Urgent, mailbox.Interrupt),
		reflect.TypeFor[event.Kind](): words(event.Session, event.Prompt, event.Thought, event.Text, event.ToolUse, event.ToolResult, event.Denied,
			event.Subagent, event.RequestFailed, event.Interrupted, event.Compacted, event.Status, event.Question, event.Answer, event.Report,
			event.Check, event.HandBack, event.Limit, event.Usage, event.Fenced, event.Note, event.End),
		reflect.TypeFor[upkeep.Kind](): words(upkeep.Workers, upkeep.Windows, upkeep.Worktrees, upkeep.Branches, upkeep.Archives),
		reflect.TypeFor[worktree.How](): words(worktree.FileAdded, worktree.FileModified, worktree.FileDeleted, worktree.FileRenamed, worktree.FileRetyped,
			worktree.FileUnmerged),
		reflect.TypeFor[room.Kind](): words(room.KindOpened, room.KindSet, room.KindJoined, room.KindLeft, room.KindSaid, room.KindRound, room.KindBlind,
			room.KindTurn, room.KindTook, room.KindOver, room.KindDropped, room.KindOrder, room.KindProposed, room.KindDecided),
		reflect.TypeFor[room.Mark]():   words(room.Began, room.Settled, room.Capped, room.Cancelled, room.Ended),
		reflect.TypeFor[room.How]():    words(room.HowReplied, room.HowPassed, room.HowStopped, room.HowFailed, room.HowTimeout, room.HowLost),
		reflect.TypeFor[room.Policy](): words(room.Everybody, room.Once, room.Robin, room.Mentioned, room.Moderator, room.Debate),
		reflect.TypeFor[room.Do](): words(room.DoPause, room.DoResume, room.DoStop, room.DoCancel, room.DoContinue, room.DoSkip, room.DoClose, room.DoReopen,
			room.DoWake, room.DoWait, room.DoDecide),
		reflect.TypeFor[room.Verdict]():        words(room.Accepted, room.Rejected, room.Changed),
		reflect.TypeFor[rooms.DecisionState](): words(rooms.DecisionStates()...),
		reflect.TypeFor[marks.Side]():          words(marks.For, marks.Against, marks.Unclear),
		reflect.TypeFor[rooms.Way]():           words(rooms.Ways()...),
		reflect.TypeFor[rooms.Source]():        words(rooms.Sources()...),
		reflect.TypeFor[room.Phase](): words(room.AtRest, room.InGather, room.InFirst, room.InTalk, room.Waits, room.IsPaused, room.IsCapped, room.IsClosed,
			room.Cancelling),
		reflect.TypeFor[marks.Kind]():  words(marks.Text, marks.Mention, marks.Agree, marks.Handoff, marks.Status, marks.Code),
		reflect.TypeFor[note.Kind]():   words(note.Kinds()...),
		reflect.TypeFor[note.State]():  words(note.States()...),
		reflect.TypeFor[incident.Op](): words(incident.OpOpen, incident.OpAdd, incident.OpClose, incident.OpAck, incident.OpReopen),
	}
}

// fieldEnums are fields of type string with a fixed set of values, by type and name. Empty
// values are left out of the answer, unless the empty text is one of the values.
func fieldEnums() map[reflect.Type]map[string][]any {
	stands := enums()[reflect.TypeFor[standing.Word]()]
	orNone := func(all []any) []any { return append(slices.Clone(all), "") }
	permits := words(standing.PermitAsked, standing.PermitAuto, standing.PermitAll)
	return map[reflect.Type]map[string][]any{
		reflect.TypeFor[cards.CardView]():           {"column": orNone(words(task.Columns()...))},
		reflect.TypeFor[overview.AgentReport]():     {"state": stands},
		reflect.TypeFor[overview.ReportedAgent]():   {"state": stands},
		reflect.TypeFor[crew.OrgSession]():          {"state": orNone(stands)},
		reflect.TypeFor[crew.OtherProject]():        {"state": orNone(stands)},
		reflect.TypeFor[overview.OrgReport]():       {"state": words(overview.OrgNone, overview.OrgRunning, overview.OrgStopped, overview.OrgNoMonitor), "permissions": permits},
		reflect.TypeFor[control.StartingOrg]():      {"permissions": orNone(permits)},
		reflect.TypeFor[control.PermissionChoice](): {"name": permits},
		reflect.TypeFor[overview.RunBrief]():        {"state": enums()[reflect.TypeFor[dag.RunState]()]},
		reflect.TypeFor[overview.Need]():            {"kind": words(overview.NeedNode, overview.NeedFailure, overview.NeedConflict, overview.NeedLimit, overview.NeedReview, overview.NeedRun, overview.NeedAgent, overview.NeedTask, overview.NeedMerge, overview.NeedRoom, overview.NeedIncident, overview.NeedMessage, overview.NeedFault)},
		reflect.TypeFor[tasks.MergedTask]():         {"outcome": words(tasks.TaskMerged, tasks.TaskContained, tasks.TaskConflict, tasks.TaskCheck, tasks.TaskWaits, tasks.TaskGone, tasks.TaskNothing)},
		reflect.TypeFor[files.FileEntry]():          {"kind": words("file", "folder", "link", "other")},
		reflect.TypeFor[files.FileText]():           {"kind": words("file", "folder", "link", "other")},
		reflect.TypeFor[merging.QueuedBranch]():     {"outcome": words(merging.QueuedMerged, merging.QueuedContained, merging.QueuedConflict, merging.QueuedLeftOut)},
		reflect.TypeFor[files.FileSide]():           {"kind": words("file", "executable", "link", "submodule", "other")},
		reflect.TypeFor[control.Commented]():        {"how": words(control.CommentsTold, control.CommentsSentBack, control.CommentsTask)},
		reflect.TypeFor[overview.AutonomyItem]():    {"kind": words(overview.AutonomyTask, overview.AutonomyRun, overview.AutonomyUncommitted, overview.AutonomyStale, overview.AutonomyBacklog, overview.AutonomyMail, overview.AutonomyWorker)},
		reflect.TypeFor[control.OnboardingStep]():   {"id": words(control.StepTools, control.StepCommit, control.StepAgent, control.StepGraph, control.StepRun, control.StepOrganization, control.StepConfig, control.StepTask)},
		reflect.TypeFor[rooms.Member]():             {"state": words(rooms.States()...), "mode": words(room.Headless, room.InPane, "")},
		reflect.TypeFor[incident.Incident]():        {"state": words(incident.Open, incident.Closed)},
	}
}

// exact adds to the document what huma does not know: the allowed texts of fields, and that
// a nil pointer to an object is written as null.
func exact(schemas huma.Registry) {
	const ref = "#/components/schemas/"
	types, fields := enums(), fieldEnums()
	named := make(map[string]*huma.Schema)
	leaf := func(t reflect.Type) (reflect.Type, []any) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		return t, types[t]
	}
	for name, s := range schemas.Map() {
		t := schemas.TypeFromRef(ref + name)
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			name, rest, _ := cutTag(f)
			field := s.Properties[name]
			if field == nil {
				continue
			}
			if values := fields[t][name]; values != nil {
				field.Enum = values
				field.PrecomputeMessages()
			} else if of, values := leaf(f.Type); values != nil && len(innermost(field).Enum) == 0 {
				enum := typeName(of, "")
				if named[enum] == nil {
					named[enum] = &huma.Schema{Type: huma.TypeString, Enum: values}
					named[enum].PrecomputeMessages()
				}
				in := innermost(field)
				*in = huma.Schema{Ref: ref + enum, Description: in.Description}
			}
			if field.Ref != "" && f.Type.Kind() == reflect.Pointer && !rest {
				s.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{{Ref: field.Ref}, {Type: "null"}}, Description: field.Description}
			}
		}
	}
	for name, s := range named {
		schemas.Map()[name] = s
	}
}

// innermost returns the type of a list's items or of a map's values.
func innermost(s *huma.Schema) *huma.Schema {
	for {
		of, ok := s.AdditionalProperties.(*huma.Schema)
		switch {
		case s.Items != nil:
			s = s.Items
		case ok:
			s = of
		default:
			return s
		}
	}
}
