package api

import (
	"context"
	"io"

	"cmux/agents/control/tasks"
	"cmux/agents/org/task"
)

type TaskIn struct {
	ID string `path:"id" maxLength:"100" doc:"Id of a task"`
}

type reasonIn struct {
	TaskIn
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000"`
	}
}

// tasks adds the routes of tasks for standing agents.
func (r *routes) tasks() {
	const group, path, one = "tasks", "/api/tasks", "/api/tasks/{id}"
	p := r.Project
	get(r, group, path, "List tasks, the most urgent first", func(_ context.Context, i *struct {
		Paging
		All     bool   `query:"all" doc:"Also finished and cancelled tasks"`
		Backlog bool   `query:"backlog" doc:"The backlog instead"`
		Agent   string `query:"agent" doc:"Only tasks assigned to this agent"`
	}) (List[tasks.TaskView], error) {
		all, err := p.Tasks().List(tasks.TaskQuery{All: i.All, Backlog: i.Backlog, Agent: i.Agent})
		if err != nil {
			return List[tasks.TaskView]{}, err
		}
		return page(all.Tasks, i.Paging, func(t *tasks.TaskView) string { return t.ID })
	})
	post(r, group, path, "Add a task", func(ctx context.Context, i *struct{ Body task.Fields }) (tasks.TaskView, error) {
		return p.Tasks().Add(ctx, i.Body)
	})
	get(r, group, one, "Show a task", func(_ context.Context, i *TaskIn) (tasks.TaskView, error) { return p.Tasks().Task(i.ID) })
	get(r, group, one+"/log", "Show the changes of a task, oldest first", func(_ context.Context, i *struct {
		TaskIn
		Paging
	}) (List[task.Change], error) {
		all, err := p.Tasks().Log(i.ID)
		if err != nil {
			return List[task.Change]{}, err
		}
		return page(all, i.Paging, func(c *task.Change) string { return toSeq(int64(c.Saw) + 1) })
	})
	post(r, group, one+"/assign", "Give a task to an agent", func(ctx context.Context, i *struct {
		TaskIn
		Body struct {
			Agent string `json:"agent"`
		}
	}) (tasks.TaskView, error) {
		return p.Tasks().Assign(ctx, i.ID, i.Body.Agent)
	})
	post(r, group, one+"/cancel", "Cancel a task", func(ctx context.Context, i *reasonIn) (tasks.TaskView, error) {
		return p.Tasks().Move(ctx, i.ID, task.Cancelled, i.Body.Reason)
	})
	post(r, group, one+"/pause", "Pause a task until it is assigned again", func(ctx context.Context, i *reasonIn) (tasks.TaskView, error) {
		return p.Tasks().Move(ctx, i.ID, task.Paused, i.Body.Reason)
	})
	post(r, group, one+"/priority", "Change the priority of a task", func(ctx context.Context, i *struct {
		TaskIn
		Body struct {
			Priority task.Priority `json:"priority" doc:"critical, high, normal or low"`
		}
	}) (tasks.TaskView, error) {
		return p.Tasks().Prioritize(ctx, i.ID, i.Body.Priority)
	})
	post(r, group, one+"/done", "Call a task done, whatever its own result is", func(ctx context.Context, i *reasonIn) (tasks.TaskView, error) {
		return p.Tasks().Override(ctx, i.ID, i.Body.Reason)
	})
	post(r, group, path+"/merge", "Start a merge of finished tasks into the integration branch", func(_ context.Context, i *struct{ Body tasks.MergeTasks }) (Job[tasks.MergedTasks], error) {
		return r.taskMerge.begin(r, path+"/merge", func(ctx context.Context, output io.Writer, begun func(string)) (*tasks.MergedTasks, error) {
			o := i.Body
			o.Output, o.Begun = output, begun
			return p.Tasks().Merge(ctx, o)
		})
	})
	get(r, group, path+"/merge", "Show the status of the current or last merge of tasks", func(context.Context, *in) (Job[tasks.MergedTasks], error) {
		return stood(r, path+"/merge", r.taskMerge.look()), nil
	})
	post(r, group, one+"/take", "Take a task out of the backlog", func(ctx context.Context, i *TaskIn) (tasks.TaskView, error) {
		return p.Tasks().Take(ctx, i.ID)
	})
}
