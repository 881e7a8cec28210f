package serve

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the metrics of one server. Labels are routes, jobs and codes, never text from callers.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	stages   *prometheus.HistogramVec
	rows     *prometheus.CounterVec
	rereads  *prometheus.CounterVec
	reloads  *prometheus.CounterVec
	audits   prometheus.Counter
}

func newMetrics(s *Server) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "bulkload_serve_" + name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	buckets := prometheus.ExponentialBuckets(0.0005, 2, 15) // seconds, from half a millisecond to 8 s
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "bulkload_serve_" + name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(h)
		return h
	}
	gauge := func(name, help string, value func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "bulkload_serve_" + name, Help: help}, value))
	}
	m.requests = counter("requests_total", "Requests by route, job and status.", "route", "job", "status")
	m.seconds = histogram("request_seconds", "Time of requests, from the header to the end of the answer.", "route")
	m.stages = histogram("stage_seconds", "Parts of it: wait for a turn, hbase, encode.", "route", "stage")
	m.rows = counter("rows_total", "Rows in answers.", "job")
	m.rereads = counter("rereads_total", "Pages that were read again because the table's regions changed.", "job")
	m.reloads = counter("reloads_total", "Times that job files, clients and certificates were read, by result.", "result")
	audits := counter("audit_failures_total", "Lines that the audit log did not take.")
	m.audits = audits.WithLabelValues()
	gauge("in_flight", "Requests that read.", func() float64 { in, _ := s.gate.load(); return float64(in) })
	gauge("waiting", "Requests that wait for their turn.", func() float64 { _, waiting := s.gate.load(); return float64(waiting) })
	gauge("memory_free_bytes", "What answers, bodies and rows may still take.", func() float64 { return float64(s.answers.memory.free.Load()) })
	gauge("draining", "1 once the service is to end.", func() float64 {
		if s.draining.Load() {
			return 1
		}
		return 0
	})
	gauge("certificate_ends_seconds", "Unix time at which the TLS certificate ends; 0 without TLS.", func() float64 {
		if c := s.loaded.Load().tls; c != nil {
			return float64(c.Certificates[0].Leaf.NotAfter.Unix())
		}
		return 0
	})
	gauge("ticket_ends_seconds", "Unix time at which the Kerberos ticket for HBase ends; 0 without Kerberos.", func() float64 {
		if t := s.ticket.Load(); t != nil && !t.ends.IsZero() {
			return float64(t.ends.Unix())
		}
		return 0
	})
	m.registry.MustRegister(readiness{s})
	return m
}

// readiness collects a gauge for each loaded job.
type readiness struct{ s *Server }

func (r readiness) desc() *prometheus.Desc {
	return prometheus.NewDesc("bulkload_serve_table_ready", "1 while the table of a job can be read.", []string{"job"}, nil)
}

func (r readiness) Describe(ch chan<- *prometheus.Desc) { ch <- r.desc() }

func (r readiness) Collect(ch chan<- prometheus.Metric) {
	for _, res := range r.s.resources().list {
		v := 0.0
		if st := res.state.Load(); st != nil && st.problem == nil {
			v = 1
		}
		ch <- prometheus.MustNewConstMetric(r.desc(), prometheus.GaugeValue, v, res.name)
	}
}

func (m *metrics) request(n *noted, status int, took time.Duration) {
	route := cmp.Or(n.route, "none")
	m.requests.WithLabelValues(route, n.job, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
	if n.read > 0 {
		for stage, took := range map[string]time.Duration{"wait": n.wait, "hbase": max(n.read-n.encode, 0), "encode": n.encode} {
			m.stages.WithLabelValues(route, stage).Observe(took.Seconds())
		}
	}
	if n.rows > 0 {
		m.rows.WithLabelValues(n.job).Add(float64(n.rows))
	}
}

func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request) error {
	promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}).ServeHTTP(w, r)
	return nil
}
