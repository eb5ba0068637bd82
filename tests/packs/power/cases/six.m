function mpc = six
% A grid made up for pdual's tests: gaps in the bus ids, a phase shifter, a tap, a shunt, parallel branches,
% a unit, a branch and a bus out of service, a branch without a rate, angle limits of three kinds.
mpc.version = '2';
mpc.baseMVA = 50;

%	bus_i	type	Pd	Qd	Gs	Bs	area	Vm	Va	baseKV	zone	Vmax	Vmin
mpc.bus = [
	1	3	0	0	0	0	1	1	0	110	1	1.05	0.95;
	2	1	20	5	0	0	1	1	0	110	1	1.05	0.95;
	5	2	10	3	0	0	1	1	0	110	1	1.04	0.96;
	7	1	25	8	1.5	6	1	1	0	110	1	1.05	0.95;	% the shunt
	10	1	15	-2	0	0	1	1	0	110	1	1.05	0.95;
	20	1	5	1	0	-2	1	1	0	110	1	1.06	0.94;
	30	4	0	0	0	0	1	1	0	110	1	1.05	0.95;	% isolated
];

%	bus	Pg	Qg	Qmax	Qmin	Vg	mBase	status	Pmax	Pmin
mpc.gen = [
	1	0	0	60	-40	1	50	1	80	0;
	5	0	0	30	-20	1	50	0	50	0;	% out of service
	5	0	0	Inf	-20	1	50	1	30	5;
	20	0	0	15	-10	1	50	1	0	0;	% a condenser
	30	0	0	15	-10	1	50	1	10	0;	% at an isolated bus
];

%	2	startup	shutdown	n	c(n-1)	...	c0
mpc.gencost = [
	2	0	0	3	0.04	12	100;
	2	0	0	3	0	1	0;
	2	0	0	2	31	7	0;
	2	0	0	1	0	0	0;
	2	0	0	3	0	1	0;
];

%	fbus	tbus	r	x	b	rateA	rateB	rateC	ratio	angle	status	angmin	angmax
mpc.branch = [
	1	2	0.02	0.12	0.03	25	0	0	0	0	1	-30	30;
	1	2	0.03	0.15	0.02	25	0	0	0	0	0	-30	30;	% out of service
	1	2	0.03	0.15	0.02	25	0	0	0	0	1	-30	30;	% parallel
	2	5	0.01	0.1	0.01	40	0	0	0.95	5	1	0	0;	% tap and phase shift
	5	7	0.02	0.11	0.02	40	0	0	0	0	1	-360	360;
	7	10	0.02	0.13	0.02	30	0	0	1.03	0	1	0	12;
	10	1	0.03	0.2	0.04	0	0	0	0	-2	1	-45	0;	% no rate
	10	20	0.02	0.1	0	20	0	0	0	0	1	-10	10;
	20	7	0.04	0.2	0	20	0	0	0	0	1	-10	10;
	20	30	0.04	0.2	0	20	0	0	0	0	1	-10	10;	% to an isolated bus
];
