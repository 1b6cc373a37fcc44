// Package lint is the rule engine: it runs rules over objects in the light of a mesh and reports what they find.
//
// The engine knows neither the rules, nor the command line, nor the webhook; all of them know it. A rule may look at the whole
// mesh but reports only on the object it was given, by field path. That is what lets the command line, a pull request and an
// admission request get the same answers.
package lint
